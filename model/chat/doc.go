// Package chat turns conversations into prompts with a model's own chat
// template, as Hugging Face's transformers does with apply_chat_template.
//
// Parse once, Render often: a Template is immutable and safe for concurrent
// use. Templates and messages are not trusted, see package jinja for the
// bounds. The clock comes from the caller, so the same Input gives the same
// prompt.
package chat
