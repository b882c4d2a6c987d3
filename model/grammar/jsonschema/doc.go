// Package jsonschema compiles JSON Schema into grammars.
package jsonschema
