// Package chat turns conversations into prompts with a model's chat template, as
// apply_chat_template of Hugging Face's transformers does.
//
// Parse once, Render often: a Template is immutable and safe for concurrent
// use. Templates and messages are not trusted; package jinja has the bounds. The
// caller passes the time, so the same Input always gives the same prompt.
package chat
