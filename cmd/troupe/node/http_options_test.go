package node

import (
	"testing"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/configs"
)

// TestSpecialTokensSetting reaches the adapter.
func TestSpecialTokensSetting(t *testing.T) {
	for _, setting := range []string{httpapi.SpecialTokensText, httpapi.SpecialTokensParse} {
		if got := httpOptions(&configs.Config{SpecialTokens: setting}).SpecialTokens; got != setting {
			t.Errorf("%q, want %q", got, setting)
		}
	}
}
