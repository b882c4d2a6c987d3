package ref_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/gputest"
	"github.com/troupe-engine/troupe/gpu/ref"
)

func TestDevice(t *testing.T) { gputest.RunDevice(t, ref.New()) }
