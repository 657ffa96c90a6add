//! Models as a person writes them: `provider/model`.

use super::expand;
use crate::diagnostic::quoted;
use crate::fault::Fault;
use crate::surroundings::Surroundings;
use engine_core::ids::ModelName;

/// The model that a text means. Whether its provider exists is not known here.
pub(crate) fn model(key: &str, text: &str, around: &Surroundings<'_>) -> Result<ModelName, Fault> {
    let name = expand::variables(key, text, around)?;
    let spoilt = |c: char| c.is_whitespace() || c.is_control();
    match name.split_once('/') {
        Some((provider, model))
            if !provider.is_empty() && !model.is_empty() && !name.contains(spoilt) =>
        {
            Ok(ModelName {
                provider: provider.to_owned(),
                model: model.to_owned(),
            })
        }
        Some(_) => Err(Fault::bad(format!("{} is not a model", quoted(&name)))
            .hint("write \"provider/model\"")),
        None => Err(Fault::bad(format!("{} names no provider", quoted(&name)))
            .hint("write \"provider/model\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn check(text: &str, expected: Result<(&str, &str), &str>) {
        Fixture::new().env("M", "qwen3").with(|around| {
            let found = model("model", text, around);
            let found = match &found {
                Ok(name) => Ok((name.provider.as_str(), name.model.as_str())),
                Err(fault) => Err(fault.message()),
            };
            assert_eq!(found, expected, "{text}");
        });
    }

    #[test]
    fn a_model_is_a_provider_and_its_own_name() {
        check("local/${M}", Ok(("local", "qwen3")));
        check("hub/org/model", Ok(("hub", "org/model")));
        check("p/$${URL}", Ok(("p", "${URL}")));
        check("m1", Err("`m1` names no provider"));
        check("/m", Err("`/m` is not a model"));
        check("p/", Err("`p/` is not a model"));
        check("p/a b", Err("`p/a b` is not a model"));
        check("", Err("`` names no provider"));
        check(
            "${X}/m",
            Err("the environment variable `X` is not set, and `model` needs it"),
        );
    }
}
