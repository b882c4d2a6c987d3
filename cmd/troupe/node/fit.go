package node

import (
	"fmt"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model"
)

// smaller are the types of weights to try where memory is short, the most exact
// ones first.
var smaller = []string{"bf16", "q8_0", "q4_0"}

// WhatFits adds to a failure of PlanMemory the weight-dtype with which the plan
// would not fail, if there is one.
func WhatFits(failure error, c *configs.Config, m *model.Checkpoint, d DeviceMemory) error {
	for _, dtype := range smaller {
		try := *c
		try.CPU.WeightDType = dtype
		device, err := OpenDevice(&try)
		if err != nil {
			return failure
		}
		weights, err := device.PlanWeights(m.Program, m.Weights)
		if err != nil || weights.Bytes >= d.WeightBytes {
			continue
		}
		with := d
		with.WeightBytes = weights.Bytes
		if _, _, err := PlanMemory(&try, m, with); err == nil {
			return fmt.Errorf("%w; or set weight-dtype %s, with which it fits", failure, dtype)
		}
	}
	return failure
}
