package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// Numerics is what a device computes with, and where it gives up exactness on
// purpose. The test suite of devices takes its cases and tolerances from it.
type Numerics struct {
	// Weights are the types of tensors that Load takes, KV those of pools that
	// NewPool makes.
	Weights, KV []DType
	// Requantised are the types among Weights that the device keeps in another
	// one, which moves a weight by up to half a step of q8_0. All others it
	// multiplies as package gpu/quant decodes them.
	Requantised []DType
	// Int8Activations: the products of quantised weights take the activations
	// rounded to int8, 32 of them (or more) to a scale. Embeddings are exact.
	Int8Activations bool
}

// CheckKV tells whether NewPool makes a pool of a type.
func (n Numerics) CheckKV(d DType) error {
	if slices.Contains(n.KV, d) {
		return nil
	}
	return fmt.Errorf("kv-cache-dtype %s: this device stores K and V in %s only; choose one of them", d, join(n.KV))
}

func join(types []DType) string {
	names := make([]string, len(types))
	for i, d := range types {
		names[i] = d.String()
	}
	return strings.Join(names, ", ")
}
