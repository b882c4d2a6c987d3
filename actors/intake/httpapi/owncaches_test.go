package httpapi_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// computing counts the tokens that a device computes, as timing would show on an
// idle machine.
type computing struct {
	runner.Executor
	tokens *atomic.Int64
}

func (c computing) Submit(b *messages.RunBatch, done func(*messages.BatchDone, error)) {
	c.tokens.Add(int64(b.Tokens()))
	c.Executor.Submit(b, done)
}

// owners is a server with several senders.
type owners struct {
	*testserver.Server
	t      *testing.T
	tokens atomic.Int64
	taken  int64
}

func startOwners(t *testing.T, opt httpapi.Options, change func(*engine.Spec)) *owners {
	o := &owners{t: t}
	o.Server = testserver.Start(t, testserver.Options{HTTP: opt, Change: func(spec *engine.Spec) {
		spec.Members[0].Executor = computing{spec.Members[0].Executor, &o.tokens}
		if change != nil {
			change(spec)
		}
	}})
	return o
}

func authorization(key string) []string {
	if key == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + key}
}

// ask generates one token for a prompt and returns how many of the prompt's tokens
// were cached.
func (o *owners) ask(key string, prompt []int32, more object) int {
	o.t.Helper()
	body := with(object{"prompt": prompt, "max_tokens": 1}, more)
	a := send(o.t, o.Server, "POST", "/v1/completions", body, authorization(key)...)
	if a.status != http.StatusOK {
		o.t.Fatalf("%q gets %d: %s", key, a.status, a.body)
	}
	return int(at(o.t, a.object(o.t), "usage", "prompt_tokens_details", "cached_tokens").(float64))
}

// computed is how many tokens were computed since its last call.
func (o *owners) computed() int {
	o.WaitIdle(o.t)
	now := o.tokens.Load()
	defer func() { o.taken = now }()
	return int(now - o.taken)
}

// senderCases are sets of keys with two senders each.
var senderCases = map[string]struct {
	opt   httpapi.Options
	a, b  string
	apart bool
}{
	"two keys":                {httpapi.Options{APIKeys: []string{"k-ann", "k-bob"}}, "k-ann", "k-bob", true},
	"a key and the admin's":   {httpapi.Options{APIKeys: []string{"k-ann"}, AdminAPIKey: "k-boss"}, "k-ann", "k-boss", true},
	"no key and the admin's":  {httpapi.Options{AdminAPIKey: "k-boss"}, "", "k-boss", true},
	"two keys that share":     {httpapi.Options{APIKeys: []string{"k-ann", "k-bob"}, SharePrefixCache: true}, "k-ann", "k-bob", false},
	"no keys":                 {httpapi.Options{}, "", "whatever", false},
	"one key":                 {httpapi.Options{APIKeys: []string{"k-ann"}}, "k-ann", "k-ann", false},
	"one key, given twice":    {httpapi.Options{APIKeys: []string{"k-ann", "k-ann"}}, "k-ann", "k-ann", false},
	"an admin's that shares":  {httpapi.Options{AdminAPIKey: "k-boss", SharePrefixCache: true}, "", "k-boss", false},
	"two keys and an admin's": {httpapi.Options{APIKeys: []string{"k-ann", "k-bob"}, AdminAPIKey: "k-boss"}, "k-bob", "k-ann", true},
}

// Each key has its own prefixes: another key finds none of them with any salt, by
// cached_tokens or by the tokens that are computed. Salts and extra keys separate
// prefixes within a key.
func TestKeysHaveCachesOfTheirOwn(t *testing.T) {
	for name, c := range senderCases {
		t.Run(name, func(t *testing.T) {
			o := startOwners(t, c.opt, nil)
			prompt := randomIDs(rand.New(rand.NewPCG(6, 1)), 160)
			for _, more := range []object{nil, {"cache_salt": "s"}, {"extra_key": "s"}, {"cache_salt": "s", "extra_key": "s"}} {
				o.computed()
				if cached, n := o.ask(c.a, prompt, more), o.computed(); cached != 0 || n != len(prompt) {
					t.Fatalf("%v: the first request finds %d tokens, %d are computed", more, cached, n)
				}
				if cached, n := o.ask(c.a, prompt, more), o.computed(); cached == 0 || n != len(prompt)-cached {
					t.Errorf("%v: under the own key %d tokens are found, %d computed", more, cached, n)
				}
				cached, n := o.ask(c.b, prompt, more), o.computed()
				if (cached == 0) != c.apart || n != len(prompt)-cached {
					t.Errorf("%v: under the other key %d tokens are found, %d computed", more, cached, n)
				}
				if cached := o.ask(c.b, prompt, more); cached == 0 {
					t.Errorf("%v: the other key does not find its own prefix", more)
				}
			}
		})
	}
}

// The same for a prompt that is being computed: another key does not wait for it,
// and computes its own.
func TestKeysDoNotShareWithinABatch(t *testing.T) {
	for name, c := range senderCases {
		for _, policy := range []string{"fcfs", "lpm", "dfs-weight"} {
			t.Run(name+", "+policy, func(t *testing.T) {
				o := startOwners(t, c.opt, func(spec *engine.Spec) { spec.Queue.SchedulePolicy = policy })
				prompt := randomIDs(rand.New(rand.NewPCG(6, 2)), 160)
				o.computed()
				o.Hold()
				cached := make(chan int, 3)
				for i, key := range []string{c.a, c.b, c.a} {
					go func() { cached <- o.ask(key, prompt, nil) }()
					for len(logged(t, o.Server, "request accepted")) == i {
						o.Audit(t)
					}
					if i == 0 {
						o.WaitStep(t, 1) // the prompt is being computed
					}
				}
				o.Resume()
				found := []int{<-cached, <-cached, <-cached}
				slices.Sort(found)
				alone := 1 // one that finds nothing
				if c.apart {
					alone = 2
				}
				sum := 0
				for i, n := range found {
					sum += n
					if (n == 0) != (i < alone) {
						t.Errorf("the three requests find %d tokens", found)
					}
				}
				if n := o.computed(); n != 3*len(prompt)-sum {
					t.Errorf("%d tokens are computed for three prompts of %d, of which %d were found", n, len(prompt), found)
				}
			})
		}
	}
}

// The order of schedule-policy lpm follows the sender's cache, not those of others.
func TestHintsAreOfTheOwnCache(t *testing.T) {
	for share, want := range map[bool]string{false: "new known", true: "known new"} {
		o := startOwners(t, httpapi.Options{APIKeys: []string{"k-ann", "k-bob"}, SharePrefixCache: share}, func(spec *engine.Spec) {
			spec.Queue.SchedulePolicy, spec.Batch.MaxRunning = "lpm", 1
		})
		r := rand.New(rand.NewPCG(6, 3))
		known, other := randomIDs(r, 160), randomIDs(r, 120)
		o.ask("k-ann", known, nil)
		o.WaitIdle(t)
		o.Hold()
		ended := make(chan string, 3)
		begin := func(name, key string, prompt []int32, tokens int) {
			taken := len(logged(t, o.Server, "request accepted"))
			go func() { o.ask(key, prompt, object{"max_tokens": tokens, "ignore_eos": true}); ended <- name }()
			for len(logged(t, o.Server, "request accepted")) == taken {
				o.Audit(t)
			}
		}
		steps := o.Steps()
		begin("first", "k-bob", randomIDs(r, 8), 20)
		o.WaitStep(t, steps+1)
		begin("new", "k-bob", other, 1)
		begin("known", "k-bob", known, 1)
		for range 5 { // so that the queue has hints of what is cached
			o.Step(t)
		}
		o.Resume()
		for range 3 {
			<-ended
		}
		o.WaitIdle(t)
		var order []string
		for _, l := range logged(t, o.Server, "request ended")[2:] {
			switch l["prompt_tokens"] {
			case float64(len(known)):
				order = append(order, "known")
			case float64(len(other)):
				order = append(order, "new")
			}
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("shared %v: the order is %s, want %s", share, got, want)
		}
	}
}
