package former

import (
	"testing"
	"time"
)

func TestOptionsAreValidated(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"PageSize":         func(o *Options) { o.PageSize = 3 },
		"Pages":            func(o *Options) { o.Pages = 0 },
		"MaxRunning":       func(o *Options) { o.MaxRunning = 0 },
		"ContextLength":    func(o *Options) { o.ContextLength = 1 },
		"MaxPrefillTokens": func(o *Options) { o.MaxPrefillTokens = -1 },
		"RetractEvery":     func(o *Options) { o.RetractEvery = -1 },
		"ratio":            func(o *Options) { o.InitNewTokenRatio = 2 },
		"Conservativeness": func(o *Options) { o.Conservativeness = -1 },
		"target":           func(o *Options) { o.ChunkedPrefillSize, o.InterTokenLatencyTarget = 512, -1 },
		"target, no chunk": func(o *Options) { o.ChunkedPrefillSize, o.InterTokenLatencyTarget = -1, time.Second },
	} {
		o := options(change)
		if o.Validate() == nil {
			t.Errorf("%s: accepted %+v", name, o)
		}
	}
	o := options(nil)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}
