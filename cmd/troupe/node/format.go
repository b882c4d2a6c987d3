package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
)

// searchTime bounds the search for a format. It takes milliseconds, unless a template is made to
// take long.
const searchTime = 10 * time.Second

// Format returns how a model writes its outputs: as its chat template says, with parsers that
// settings name in place of what it says. template may be nil.
func Format(ctx context.Context, template *chat.Template, o output.DetectOptions, toolParser, reasoningParser string) (output.Format, error) {
	f := output.Format{Name: "content"}
	if template != nil {
		ctx, cancel := context.WithTimeout(ctx, searchTime)
		defer cancel()
		f = output.Detect(ctx, template, o)
	}
	f, err := output.Named(f, toolParser, "")
	if err != nil {
		return f, configs.About(meant(err, toolParser, output.ToolParsers()), "tool-call-parser")
	}
	if f, err = output.Named(f, "", reasoningParser); err != nil {
		return f, configs.About(meant(err, reasoningParser, output.ReasoningParsers()), "reasoning-parser")
	}
	return f, nil
}

// meant adds the nearest name to the error about an unknown one.
func meant(err error, name string, known []string) error {
	if at := configs.Nearest(strings.ReplaceAll(name, "_", "-"), known); at != "" {
		return fmt.Errorf("%w; did you mean %s?", err, at)
	}
	return err
}

// formatInfo is a format as /server_info shows it.
func formatInfo(f *output.Format) map[string]any {
	info := map[string]any{"name": f.Name, "tool_calls": f.Calls != nil || f.Messages != nil}
	if r := f.Reasoning; r.Close != "" {
		info["reasoning"] = map[string]any{"open": r.Open, "close": r.Close}
	} else if f.Messages != nil {
		info["reasoning"] = map[string]any{"channel": f.Messages.Reasoning}
	}
	return info
}
