package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// The official Go client uses the server like an application.
func goClient(s *testserver.Server, more ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(s.URL + "/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0)}, more...)...)
}

func chatParams(s *testserver.Server) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: testserver.ModelID, Seed: openai.Int(5), MaxCompletionTokens: openai.Int(20),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Tell me a story.")}}
}

func TestGoClientChat(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	client := goClient(s)
	text, _ := s.Expected(helloIDs(), params(s, 20, 5))
	whole, err := client.Chat.Completions.New(t.Context(), chatParams(s))
	if err != nil {
		t.Fatal(err)
	}
	if c := whole.Choices[0]; c.Message.Content != text || c.FinishReason != "length" || whole.Usage.CompletionTokens != 20 {
		t.Errorf("got %q, %s, %+v; want %q", c.Message.Content, c.FinishReason, whole.Usage, text)
	}
	p := chatParams(s)
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), p)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Errorf("the accumulator refuses %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if c := all.Choices[0]; c.Message.Content != text || c.FinishReason != "length" || all.Usage.PromptTokens != int64(len(helloIDs())) {
		t.Errorf("streamed %q, %s, %+v; want %q", c.Message.Content, c.FinishReason, all.Usage, text)
	}
	if cached := all.Usage.PromptTokensDetails.CachedTokens; cached == 0 {
		t.Error("nothing of a repeated prompt is cached")
	}
}

func TestGoClientLogprobs(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	p := chatParams(s)
	p.Logprobs, p.TopLogprobs = openai.Bool(true), openai.Int(3)
	client := goClient(s)
	got, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	content := got.Choices[0].Logprobs.Content
	if len(content) != 20 {
		t.Fatalf("%d entries", len(content))
	}
	for _, entry := range content {
		if entry.Logprob > 0 || len(entry.TopLogprobs) != 3 || entry.TopLogprobs[0].Logprob < entry.TopLogprobs[2].Logprob {
			t.Errorf("entry %+v", entry)
		}
	}
}

func TestGoClientCompletions(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	client := goClient(s)
	p := openai.CompletionNewParams{Model: testserver.ModelID, MaxTokens: openai.Int(8), Seed: openai.Int(1), Logprobs: openai.Int(2),
		Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{onceUpon, "The cat"}}}
	got, err := client.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for i, prompt := range []string{onceUpon, "The cat"} {
		text, _ := s.Expected(encode(prompt), params(s, 8, 1))
		if c := got.Choices[i]; c.Text != text || len(c.Logprobs.Tokens) != 8 || len(c.Logprobs.TopLogprobs) != 8 {
			t.Errorf("choice %d is %q with %d log probabilities, want %q", i, c.Text, len(c.Logprobs.Tokens), text)
		}
	}
	p.Prompt = openai.CompletionNewParamsPromptUnion{OfArrayOfTokens: []int64{5, 6, 7}}
	stream := client.Completions.NewStreaming(t.Context(), p)
	var text strings.Builder
	for stream.Next() {
		text.WriteString(stream.Current().Choices[0].Text)
	}
	want, _ := s.Expected([]int32{5, 6, 7}, params(s, 8, 1))
	if err := stream.Err(); err != nil || text.String() != want {
		t.Errorf("streamed %q, %v; want %q", text.String(), err, want)
	}
}

func TestGoClientModels(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	client := goClient(s)
	page, err := client.Models.List(t.Context())
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != testserver.ModelID {
		t.Errorf("%+v, %v", page, err)
	}
	model, err := client.Models.Get(t.Context(), testserver.ModelID)
	if err != nil || model.OwnedBy != "troupe" {
		t.Errorf("%+v, %v", model, err)
	}
}

// The client's own types for structured output.
func TestGoClientStructuredOutput(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	var schema map[string]any
	if err := json.Unmarshal([]byte(petSchema), &schema); err != nil {
		t.Fatal(err)
	}
	p := chatParams(s)
	p.MaxCompletionTokens = openai.Int(200)
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "pet", Strict: openai.Bool(true), Schema: schema}}
	client := goClient(s)
	answer, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if text := answer.Choices[0].Message.Content; !isPet(text) {
		t.Errorf("the answer is %q", text)
	}
}

func TestGoClientErrors(t *testing.T) {
	s := testserver.Start(t, testserver.Options{MaxOpen: 1, HTTP: httpapi.Options{APIKeys: []string{"k"}}})
	client := goClient(s)
	check := func(name string, err error, status int, code string) {
		t.Helper()
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != status || e.Code != code || e.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := chatParams(s)
	p.Temperature = openai.Float(3)
	_, err := client.Chat.Completions.New(t.Context(), p)
	check("range", err, http.StatusBadRequest, "")
	_, err = client.Chat.Completions.New(t.Context(), chatParams(s), option.WithJSONSet("lora_path", "x"))
	check("unsupported", err, http.StatusBadRequest, "unsupported_parameter")
	stranger := goClient(s, option.WithAPIKey("wrong"))
	_, err = stranger.Models.List(t.Context())
	check("key", err, http.StatusUnauthorized, "invalid_api_key")
	p = chatParams(s)
	p.Model = "gpt-9"
	_, err = client.Chat.Completions.New(t.Context(), p)
	check("model", err, http.StatusNotFound, "model_not_found")

	s.Hold()
	open := make(chan error, 1)
	go func() {
		_, err := client.Chat.Completions.New(t.Context(), chatParams(s))
		open <- err
	}()
	s.WaitStep(t, 1)
	_, err = client.Chat.Completions.New(t.Context(), chatParams(s))
	check("busy", err, http.StatusTooManyRequests, "rate_limit_exceeded")
	stream := client.Chat.Completions.NewStreaming(t.Context(), chatParams(s))
	if stream.Next() {
		t.Error("a refused stream has chunks")
	}
	check("busy stream", stream.Err(), http.StatusTooManyRequests, "rate_limit_exceeded")
	s.Resume()
	if err := <-open; err != nil {
		t.Errorf("the open request noticed the refused ones: %v", err)
	}
}

// A client that disconnects in the middle of a stream frees everything the request
// held.
func TestGoClientAbort(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 4096, Pages: 2048, StepTime: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := chatParams(s)
	p.MaxCompletionTokens = openai.Int(4000)
	client := goClient(s)
	stream := client.Chat.Completions.NewStreaming(ctx, p)
	for range 3 {
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
	}
	s.Hold() // it does not end by itself before the client has left
	cancel()
	for stream.Next() {
	}
	if !errors.Is(stream.Err(), context.Canceled) {
		t.Errorf("the stream ended with %v", stream.Err())
	}
	s.Resume()
	s.WaitIdle(t)
}

// The comments of a stream that waits are no events to the official client.
func TestGoClientReadsOverComments(t *testing.T) {
	s := testserver.Start(t, testserver.Options{StepTime: 100 * time.Millisecond, HTTP: httpapi.Options{KeepAlive: 10 * time.Millisecond}})
	p := chatParams(s)
	p.MaxCompletionTokens = openai.Int(4)
	text, _ := s.Expected(helloIDs(), params(s, 4, 5))
	var body strings.Builder
	keep := option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		a, err := next(r)
		if err == nil {
			a.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(a.Body, &body), a.Body}
		}
		return a, err
	})
	client := goClient(s, keep)
	stream := client.Chat.Completions.NewStreaming(t.Context(), p)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || all.Choices[0].Message.Content != text {
		t.Errorf("%v, %+v; want %q", err, all.Choices, text)
	}
	if !strings.Contains(body.String(), "\n: waiting\n") {
		t.Errorf("no comment in %q", body.String())
	}
}
