package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/troupe-engine/troupe/actors/intake/httpapi/page"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// browser is a headless Chromium with one tab.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // of what its events add
	problems []string
	expected string // problems with this text are meant
}

// expect says that problems with a text are meant.
func (b *browser) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = text
}

// openBrowser opens a page, and fails the test at a request to another server, at an error
// in the console, and at an exception.
func openBrowser(t *testing.T, address string) *browser {
	t.Helper()
	return openBrowserFor(t, address, 30*time.Second)
}

// openBrowserFor is openBrowser for a test of at most some time.
func openBrowserFor(t *testing.T, address string, most time.Duration) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("TROUPE_TOOLS") != "" {
			t.Fatal("TROUPE_TOOLS is set, but there is no chromium")
		}
		t.Skip("needs chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	ctx, stop := context.WithTimeout(ctx, most)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx}
	home, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	problem := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if p := fmt.Sprintf(format, args...); b.expected == "" || !strings.Contains(p, b.expected) {
			b.problems = append(b.problems, p)
		}
	}
	if err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if u, err := url.Parse(e.Request.URL); err != nil || u.Host != home.Host && u.Scheme != "blob" && u.Scheme != "data" {
				problem("a foreign request: %s", e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			problem("an exception: %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				problem("an error in the console: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Error(p)
		}
	})
	b.run(chromedp.Navigate(address))
	b.until(`document.querySelectorAll("#model option").length > 0`)
	return b
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// until waits for an expression to be true in the page.
func (b *browser) until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		b.t.Fatalf("waiting for %s: %v", expression, err)
	}
}

// say sends a message and waits for its answer.
func (b *browser) say(text string) {
	b.t.Helper()
	n := eval[int](b, `document.querySelectorAll("article.assistant").length`)
	b.run(chromedp.SendKeys(chromedp.CSS("#text"), text+"\r"))
	b.until(fmt.Sprintf(`document.querySelectorAll("article.assistant .tools").length > %d`, n))
}

const lastAnswer = `[...document.querySelectorAll("article.assistant .body")].at(-1).textContent`

func TestAConversationInABrowser(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 4096})
	b := openBrowser(t, s.URL)
	b.run(chromedp.Click(chromedp.CSS("#settings-button")), chromedp.SetValue(chromedp.CSS("#max_tokens"), "12"), chromedp.SetValue(chromedp.CSS("#seed"), "5"),
		chromedp.SetValue(chromedp.CSS("#temperature"), "0"))
	eval[any](b, `for (const id of ["max_tokens", "seed", "temperature"]) document.getElementById(id).dispatchEvent(new Event("change")); null`)
	b.say("Hello!")
	first := eval[string](b, lastAnswer)
	if len(first) < 3 {
		t.Fatalf("the answer is %q", first)
	}
	if note := eval[string](b, `[...document.querySelectorAll("article.assistant .tools span")].at(-1).textContent`); !strings.Contains(note, "12 tokens") || !strings.Contains(note, "limit") {
		t.Errorf("the note is %q", note)
	}
	if text := eval[string](b, `document.querySelector("#text").value`); text != "" {
		t.Errorf("after a message was sent, %q is left", text)
	}
	b.say("And then?")
	// It is there after a reload.
	b.run(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("article.assistant .tools")))
	if n := eval[int](b, `document.querySelectorAll("article").length`); n != 4 {
		t.Errorf("%d messages after a reload", n)
	}
	b.until(`document.querySelectorAll("#model option").length === 1`)
	// Regenerated with the same seed, the answer is the same.
	second := eval[string](b, lastAnswer)
	eval[any](b, `void [...document.querySelectorAll("article.assistant button")].findLast((b) => b.textContent === "Regenerate").click()`)
	b.until(`document.querySelector("#stop").hidden && document.querySelectorAll("article.assistant .tools").length === 2`)
	if got := eval[string](b, lastAnswer); got != second {
		t.Errorf("regenerated: %q, want %q", got, second)
	}
	// Editing the first message replaces what came after it when it is sent, and not before.
	for _, end := range []string{"\x1b", "\r"} {
		eval[any](b, `void [...document.querySelectorAll("article.user button")].find((b) => b.textContent === "Edit").click()`)
		if text := eval[string](b, `document.querySelector("#text").value`); text != "Hello!" {
			t.Errorf("the edited text is %q", text)
		}
		if n := eval[int](b, `document.querySelectorAll("article").length`); n != 4 {
			t.Errorf("%d messages while one is edited", n)
		}
		b.run(chromedp.SendKeys(chromedp.CSS("#text"), end))
		b.until(`document.querySelector("#text").value === ""`)
	}
	b.until(`document.querySelector("#stop").hidden && document.querySelectorAll("article.assistant .tools").length === 1`)
	if got := eval[string](b, lastAnswer); got != first {
		t.Errorf("the same message again: %q, want %q", got, first)
	}
	if n := eval[int](b, `document.querySelectorAll("article").length`); n != 2 {
		t.Errorf("%d messages after an edit", n)
	}
	// Stopping keeps what has come.
	eval[any](b, `document.getElementById("max_tokens").value = ""; document.getElementById("max_tokens").dispatchEvent(new Event("change")); null`)
	s.Hold()
	b.run(chromedp.SendKeys(chromedp.CSS("#text"), "Long\r"), chromedp.WaitVisible(chromedp.CSS("#stop")), chromedp.KeyEvent("\x1b"))
	b.until(`document.querySelector("#stop").hidden`)
	s.Resume()
	s.WaitIdle(t)
	// A second conversation, and both are there.
	b.run(chromedp.Click(chromedp.CSS("#new")))
	b.say("Another one")
	if n := eval[int](b, `document.querySelectorAll("#conversations li").length`); n != 2 {
		t.Errorf("%d conversations", n)
	}
	// On a narrow screen everything fits.
	b.run(chromedp.EmulateViewport(390, 844))
	if hidden := eval[[]string](b, `[...document.querySelectorAll("header > *, #composer > *")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.id)`); len(hidden) > 0 {
		t.Errorf("at 390 pixels %v are beyond the right edge", hidden)
	}
	b.run(chromedp.Click(chromedp.CSS("#menu")), chromedp.WaitVisible(chromedp.CSS("#conversations")), chromedp.KeyEvent("\x1b"))
	pictures(b, "chat")
}

// If an answer fails, the message stays and can be sent again; a regenerated answer that
// fails leaves the one from before. Another tab's conversations are taken over.
func TestFailuresAndOtherTabs(t *testing.T) {
	var fail atomic.Bool
	fail.Store(true)
	b := openBrowser(t, scripted(t, func(send func(string)) {
		if !fail.Load() {
			send("```\ncode\n```")
			return
		}
		panic(http.ErrAbortHandler)
	}))
	b.expect("net::ERR_EMPTY_RESPONSE")
	button := func(text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("article button")].filter((b) => b.textContent === %q)`, text)
	}
	b.run(chromedp.SendKeys(chromedp.CSS("#text"), "Hello\r"))
	b.until(`document.querySelector("#status.bad") && ` + button("Send again") + `.length === 1`)
	fail.Store(false)
	eval[any](b, button("Send again")+`[0].click()`)
	b.until(button("Regenerate") + `.length === 1`)
	if n := eval[int](b, button("Copy")+`.length`); n != 3 { // message, code, answer
		t.Errorf("%d buttons to copy", n)
	}
	fail.Store(true)
	eval[any](b, button("Regenerate")+`[0].click()`)
	b.until(`document.querySelector("#status.bad") && ` + button("Regenerate") + `.length === 1`)
	if text := eval[string](b, `[...document.querySelectorAll("article.assistant code")].at(-1).textContent`); text != "code" {
		t.Errorf("after a failure the answer is %q", text)
	}
	const theirs = `[{"id": "other", "title": "Of another tab", "system": "", "settings": {}, "messages": [{"role": "user", "content": "x"}]}]`
	eval[any](b, fmt.Sprintf(`localStorage.setItem("troupe.conversations", %q); void dispatchEvent(new StorageEvent("storage", {key: "troupe.conversations"}))`, theirs))
	b.until(`[...document.querySelectorAll("#conversations button")].map((b) => b.textContent).join() === "Hello,Of another tab"`)
}

// Without a key, with a wrong one, and without a server, the page says in plain words what to
// do. The settings open for the key, and close once it is accepted.
func TestKeysAndAServerThatIsGone(t *testing.T) {
	var needed atomic.Bool
	site := scriptedHandler(func(send func(string)) { send("Hi.") })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if needed.Load() && strings.HasPrefix(r.URL.Path, "/v1/") && r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": {"message": "the API key is missing or wrong; send it as Authorization: Bearer KEY"}}`)
			return
		}
		site.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := openBrowser(t, server.URL)
	says := func(text string, open bool) {
		t.Helper()
		b.until(fmt.Sprintf(`document.querySelector("#status").textContent === %q && document.querySelector("#settings").hidden === %v`, text, !open))
	}
	key := func(text string) {
		eval[any](b, fmt.Sprintf(`document.querySelector("#key").value = %q; void document.querySelector("#key").dispatchEvent(new Event("change"))`, text))
	}
	needed.Store(true)
	b.expect("status of 401")
	b.run(chromedp.SendKeys(chromedp.CSS("#text"), "Hello\r"))
	says("The server needs an API key. Enter the key in the settings above.", true)
	key("wrong")
	says("The server does not accept this API key. Enter the key in the settings above.", true)
	key("ri…ht")
	says("The API key has a character that keys do not have. Enter the key in the settings above.", true)
	key("right")
	says("", false)
	b.say("Hello again")
	// Settings that a person has opened stay open.
	b.run(chromedp.Click(chromedp.CSS("#settings-button")))
	eval[any](b, `document.querySelector("#status").textContent = "until the key is accepted"`)
	key("right")
	says("", true)
	server.CloseClientConnections()
	server.Close()
	b.expect("net::ERR_CONNECTION_REFUSED")
	b.run(chromedp.SendKeys(chromedp.CSS("#text"), "Still there?\r"))
	says("The server cannot be reached. Check that it is running, then try again.", true)
}

// pictures are taken for people, if TROUPE_PICTURES names a folder.
func pictures(b *browser, name string) {
	b.t.Helper()
	dir := os.Getenv("TROUPE_PICTURES")
	if dir == "" {
		return
	}
	for _, width := range []int64{390, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			b.run(chromedp.EmulateViewport(width, 844))
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
				b.t.Fatal(err)
			}
			image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				b.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), image, 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// scripted is a server with the page whose model says what a test wants.
func scripted(t *testing.T, answer func(send func(text string))) string {
	server := httptest.NewServer(scriptedHandler(answer))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

func scriptedHandler(answer func(send func(text string))) http.Handler {
	p := page.New()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { p.Serve(w, r, "") })
	mux.HandleFunc("GET /page/{file}", func(w http.ResponseWriter, r *http.Request) { p.Serve(w, r, r.PathValue("file")) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data": [{"id": "m"}]}`) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		answer(func(text string) {
			quoted, _ := json.Marshal(text)
			fmt.Fprintf(w, "data: {\"choices\": [{\"delta\": {\"content\": %s}}]}\n\n", quoted)
			w.(http.Flusher).Flush()
		})
		fmt.Fprint(w, "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	return mux
}

// Whatever a model writes stays text.
func TestAHostileAnswerStaysText(t *testing.T) {
	hostile := "<script>window.bad = 1</script>\n\n<img src=x onerror=\"window.bad = 1\">\n\n[a](javascript:window.bad=1) [b](data:text/html,x) <a href=\"http://evil.example\">c</a>\n\n" +
		"`<b>` **<i>bold</i>** ![p](http://evil.example/p.png)\n\n```html\n<script>window.bad = 1</script>\n```\n\n| <u>a</u> | b |\n|---|---|\n| <script>window.bad=1</script> | d |\n\n- <svg onload=window.bad=1>\n"
	b := openBrowser(t, scripted(t, func(send func(string)) {
		for _, c := range hostile { // in pieces, so that every state is shown
			send(string(c))
		}
	}))
	b.say("Be hostile.")
	if eval[bool](b, `"bad" in window`) {
		t.Error("a script ran")
	}
	if n := eval[int](b, `document.querySelectorAll("#messages script, #messages img, #messages svg, #messages i, #messages u, #messages iframe").length`); n != 0 {
		t.Errorf("%d elements of the answer are in the page", n)
	}
	if links := eval[[]string](b, `[...document.querySelectorAll("#messages a")].map((a) => a.href)`); slices.ContainsFunc(links, func(to string) bool { return !strings.HasPrefix(to, "http://evil.example/") }) {
		t.Errorf("the links are %q", links) // addresses of web pages are links that a person may follow
	}
	text := eval[string](b, lastAnswer)
	for _, want := range []string{"<script>window.bad = 1</script>", "<img src=x onerror=", "javascript:window.bad=1", "<svg onload=window.bad=1>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %s: %s", want, text)
		}
	}
	if n := eval[int](b, `document.querySelectorAll("#messages table, #messages pre, #messages strong, #messages ul").length`); n != 4 {
		t.Errorf("%d elements of Markdown", n)
	}
}

// A line of a megabyte, in many pieces, is shown whole, and the page still answers.
func TestALineOfAMegabyte(t *testing.T) {
	piece := strings.Repeat("*_`[a](b ", 57)
	b := openBrowser(t, scripted(t, func(send func(string)) {
		for range (1 << 20) / len(piece) {
			send(piece)
		}
		send("\n\nthe **end**")
	}))
	b.say("Write a long line.")
	if n := eval[int](b, lastAnswer+".length"); n < 1<<20-len(piece) {
		t.Errorf("%d characters are shown", n)
	}
	if text := eval[string](b, `[...document.querySelectorAll("article.assistant strong")].at(-1).textContent`); text != "end" {
		t.Errorf("after it comes %q", text)
	}
}

// Quotes and lists in each other beyond all measure are shown, also after a reload.
func TestDeepMarkdown(t *testing.T) {
	var deep strings.Builder
	deep.WriteString(strings.Repeat(">", 6000) + " quoted\n\n")
	for i := range 3000 {
		deep.WriteString(strings.Repeat(" ", 2*i%4000) + "- item\n")
	}
	b := openBrowser(t, scripted(t, func(send func(string)) {
		for part := range slices.Chunk([]byte(deep.String()), 1<<16) {
			send(string(part))
		}
		send("\n\nthe **end**")
	}))
	b.say("Go deep.")
	for range 2 {
		if text := eval[string](b, `[...document.querySelectorAll("article.assistant strong")].at(-1).textContent`); text != "end" {
			t.Errorf("after it comes %q", text)
		}
		if !strings.Contains(eval[string](b, lastAnswer), ">>> quoted") {
			t.Error("the quoted text is missing")
		}
		b.run(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("article.assistant .tools")))
		b.until(`document.querySelectorAll("#model option").length === 1`)
	}
}

// A conversation that is too long for the storage leaves the others there.
func TestAFullStorage(t *testing.T) {
	b := openBrowser(t, scripted(t, func(send func(string)) {
		for range 12 {
			send(strings.Repeat("word ", 100_000))
			send("\n\n")
		}
	}))
	const others = `[{"id": "other", "title": "Of before", "system": "", "settings": {}, "messages": [{"role": "user", "content": "x"}]}]`
	eval[any](b, fmt.Sprintf(`localStorage.setItem("troupe.conversations", %q)`, others))
	b.run(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#conversations button")), chromedp.Click(chromedp.CSS("#new")))
	b.say("Write six million characters.")
	b.until(`document.querySelector("#status.bad")?.textContent.includes("too long for the browser's storage")`)
	if stored := eval[string](b, `localStorage.getItem("troupe.conversations")`); !strings.Contains(stored, "Of before") || !strings.Contains(stored, "Write six million") {
		t.Errorf("the storage has %.300s", stored)
	}
}

// What a model thinks is folded.
func TestThoughtsAreFolded(t *testing.T) {
	b := openBrowser(t, scripted(t, func(send func(string)) {
		for _, c := range "<think>\nHm, *well*.\n</think>\n\nThe answer is **42**." {
			send(string(c))
		}
	}))
	b.say("What is it?")
	if text := eval[string](b, lastAnswer); text != "The answer is 42." {
		t.Errorf("the answer is %q", text)
	}
	if open := eval[bool](b, `document.querySelector("details").open`); open {
		t.Error("the thoughts are open")
	}
	if text := eval[string](b, `document.querySelector("details").textContent`); !strings.Contains(text, "Hm, *well*.") {
		t.Errorf("the thoughts are %q", text)
	}
}
