//go:build cuda && cgo && linux && amd64

package driver

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/internal/units"
)

// kind is a kind of what is on a device and has to be closed.
type kind int

const (
	memoryKind kind = iota
	pinnedKind
	moduleKind
	streamKind
	eventKind
	graphKind
	execKind
	kinds
)

var kindNames = [kinds]string{"block of memory", "pinned buffer", "module", "stream", "event", "graph", "executable graph"}

// handle is what all things on a device have in common: an owner, and one end.
type handle struct {
	device *Device
	kind   kind
	closed atomic.Bool
}

func (d *Device) adopt(h *handle, k kind) {
	h.device, h.kind = d, k
	d.open[k].Add(1)
}

// usable returns an error if the handle is closed.
func (h *handle) usable(call string) error {
	if h.closed.Load() {
		return &Error{Call: call, Device: h.device.description.Ordinal, Text: "the " + kindNames[h.kind] + " is closed", reason: ErrClosed}
	}
	return nil
}

// release frees the handle once. If the driver refuses for a reason that does not end the
// context, it stays open, and Close may be called again. A device that is known to be lost
// has taken everything along, so an error is expected.
func (h *handle) release(call string, free func() error) error {
	if !h.closed.CompareAndSwap(false, true) {
		return nil
	}
	known := h.device.Lost() != nil
	e := h.device.check(call, free())
	if e != nil && !e.Sticky {
		h.closed.Store(false)
		return e
	}
	h.device.open[h.kind].Add(-1)
	if e != nil && !known {
		return e
	}
	return nil
}

// devices are those that are retained.
var (
	devicesMutex sync.Mutex
	devices      = map[*Device]bool{}
)

// Live counts what is open in this process: devices, and by kind what is on them. It has
// no entry that is 0, so it is empty if nothing was forgotten.
func Live() map[string]int {
	devicesMutex.Lock()
	defer devicesMutex.Unlock()
	live := map[string]int{}
	for d := range devices {
		live["device"]++
		for k := range kinds {
			if n := int(d.open[k].Load()); n != 0 {
				live[kindNames[k]] += n
			}
		}
	}
	return live
}

// stillOpen lists what is open on the device: "1 module, 2 streams".
func (d *Device) stillOpen() string {
	var list []string
	for k := range kinds {
		if n := int(d.open[k].Load()); n != 0 {
			text := units.Count(n, kindNames[k])
			if k == memoryKind && n != 1 {
				text = fmt.Sprintf("%d blocks of memory", n)
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}
