//go:build invariants

package invariants

// Enabled switches the costly checks on.
const Enabled = true
