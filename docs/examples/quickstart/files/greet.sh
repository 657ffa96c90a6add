#!/bin/sh
# Greets whoever is named:  sh greet.sh NAME
echo "Hello, $1!"
