//! Which input is legal when, and how the machine behaves in a world of fakes.

mod behaviour;
mod legality;
mod recovery;
mod room;
mod world;
