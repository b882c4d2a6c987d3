package output_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/model/chat/output"
)

func Example() {
	format, err := output.Named(output.Format{}, "hermes", "qwen3")
	if err != nil {
		panic(err)
	}
	p := output.NewParser(&format, output.Options{Tools: []output.Tool{{Name: "weather"}}})
	show := func(events []output.Event) {
		for _, e := range events {
			switch e.Kind {
			case output.ReasoningDelta:
				fmt.Printf("thought %q\n", e.Text)
			case output.ContentDelta:
				fmt.Printf("content %q\n", e.Text)
			case output.CallOpened:
				fmt.Println("call", e.Index, e.Name)
			case output.ArgumentsDelta:
				fmt.Printf("arguments %q\n", e.Text)
			case output.CallClosed:
				fmt.Println("closed", e.Index)
			}
		}
	}
	for _, piece := range []string{"<think>Where", "?</thi", "nk>I look.<tool_", `call>{"name": "weather", "arguments": {"ci`, `ty": "Rome"}}</tool_call>`} {
		show(p.Push(piece))
	}
	show(p.Finish(false))
	// Output:
	// thought "Where"
	// thought "?"
	// content "I look."
	// call 0 weather
	// arguments "{\"ci"
	// arguments "ty\": \"Rome\"}"
	// closed 0
}
