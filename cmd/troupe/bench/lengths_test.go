package bench

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/testkit/commandline"
)

func TestLengthsFitTheContext(t *testing.T) {
	for _, c := range []struct {
		args    []string
		context int
		exact   bool
		want    []int  // lengths in the order of the flags
		note    string // "" is none
		err     string
	}{
		{nil, 0, true, []int{512, 128}, "", ""},
		{nil, 640, true, []int{512, 128}, "", ""},
		{nil, 639, true, []int{496, 112}, "the server's context is 639 tokens: using 496 tokens of prompt and 112 of output instead of the default 512 tokens of prompt and 128 of output; use --random-input-len and --random-output-len to change this", ""},
		{nil, 640, false, []int{448, 112}, "context is 640", ""}, // an eighth is kept free
		{nil, 3, true, []int{2, 1}, "context is 3", ""},
		{nil, 1, true, nil, "", "do not fit into the server's context of 1 tokens"},
		{[]string{"--turns", "4"}, 1024, false, []int{176, 32}, "in 4 turns", ""},
		{[]string{"--random-input-len", "400"}, 512, true, []int{400, 112}, "; use --random-output-len to change this", ""},
		{[]string{"--random-input-len", "512"}, 512, true, nil, "", "512 tokens of prompt and 128 of output do not fit into the server's context of 512 tokens; lower --random-input-len and --random-output-len"},
		{[]string{"--random-input-len", "500", "--random-output-len", "12"}, 512, false, []int{500, 12}, "", ""}, // the user's choice
		{[]string{"--random-input-len", "500", "--random-output-len", "13"}, 512, false, nil, "", "500 tokens of prompt and 13 of output do not fit"},
		{[]string{"--random-input-len", "100", "--turns", "9"}, 512, false, nil, "", "--random-output-len and --turns"},
		{[]string{"--dataset", "shared-prefix"}, 1024, true, []int{848, 48, 96}, "848 tokens of system prompt, 48 of question and 96 of output", ""},
		{[]string{"--dataset", "shared-prefix", "--gsp-system-prompt-len", "2000"}, 1024, true, nil, "", "--gsp-system-prompt-len, --gsp-question-len and --gsp-output-len"},
		{[]string{"--dataset", "gsm8k"}, 64, true, nil, "", ""},
	} {
		t.Run(fmt.Sprint(c.args, c.context, c.exact), func(t *testing.T) {
			w, flags := &workload{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			w.add(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			note, err := w.fit(flags, c.context, c.exact)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
				t.Fatalf("note %q, %v, want %q", note, err, c.note)
			}
			sum := 0
			for i, s := range w.spans() {
				if *s.tokens != c.want[i] {
					t.Errorf("--%s is %d, want %d", s.flag, *s.tokens, c.want[i])
				}
				sum += *s.tokens * s.times
			}
			if c.context > 0 && sum > c.context {
				t.Errorf("%d tokens in a context of %d", sum, c.context)
			}
		})
	}
}

// The defaults are lowered to the server's context; lengths that the user set are not
// changed.
func TestBenchServeFitsTheServer(t *testing.T) {
	s := commandline.Serve(t, "--context-length", "128")
	p := loadServer(t, s.URL, "--num-prompts", "3")
	if p.Requests.Finished != 3 || p.Tokens.Input != 3*96 || p.Tokens.Output != 3*25 || p.Setup.Server.Context != 128 {
		t.Errorf("%+v, %+v, %+v", p.Requests, p.Tokens, p.Setup.Server)
	}
	if len(p.Notes) == 0 || !strings.Contains(p.Notes[0], "the server's context is 128 tokens: using 96 tokens of prompt and 25 of output instead of the default 512") {
		t.Errorf("notes %q", p.Notes)
	}
	out, err := run(t, "", "bench", "serve", "--url", s.URL, "--random-input-len", "512")
	if err == nil || !strings.Contains(err.Error(), "do not fit into the server's context of 128 tokens") || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// If the server does not report its context, the run ends after one refusal, not a
// hundred.
func TestBenchServeStopsAtARefusal(t *testing.T) {
	server, asked := refusing77(t, http.StatusBadRequest, "maximum context length is 64")
	_, err := run(t, "", "bench", "serve", "--url", server.URL, "--random-output-len", "77", "--concurrency", "1")
	want := "the server refused the first request: HTTP 400 Bad Request: maximum context length is 64 (the request has 512 tokens of prompt and 77 of output); " +
		"if the server's context is smaller, lower --random-input-len and --random-output-len"
	if err == nil || !strings.Contains(err.Error(), want) || asked.Load() > 1 {
		t.Errorf("%v after %d requests, want %q", err, asked.Load(), want)
	}
	problems := commandline.File(t, "data", strings.Repeat(`{"question":"How many?","answer":"#### 2"}`+"\n", 40))
	_, err = run(t, "", "bench", "serve", "--url", server.URL, "--dataset", "gsm8k", "--dataset-path", problems, "--gsm8k-output-len", "77", "--concurrency", "1")
	if want = "each of the first 8 requests"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--gsm8k-num-shots") {
		t.Errorf("%v, want %q", err, want)
	}
}

// One refusal is enough if no request is shorter than the first.
func TestRefusalsThatEndARun(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 1},
		{[]string{"--random-range-ratio", "0.5"}, 8},
		{[]string{"--dataset", "shared-prefix"}, 1},
		{[]string{"--dataset", "sharegpt"}, 8},
	} {
		w, flags := &workload{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		w.add(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if got := w.refusals(); got != c.want {
			t.Errorf("%v: %d, want %d", c.args, got, c.want)
		}
	}
}
