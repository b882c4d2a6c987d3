package ref_test

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu/ref"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

func TestDevice(t *testing.T) { gputest.RunDevice(t, ref.New()) }
