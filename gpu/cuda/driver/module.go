//go:build cuda && cgo && linux && amd64

package driver

import (
	"fmt"

	"gorgonia.org/cu"

	"github.com/troupe-engine/troupe/internal/units"
)

// Module is kernels, loaded on a device.
type Module struct {
	handle
	module cu.Module
}

// LoadModule loads an image: a cubin, a fatbin, or PTX, which the driver compiles for
// the device. The image may be dropped afterwards. The caller closes the module.
func (d *Device) LoadModule(image []byte) (*Module, error) {
	call := "cuModuleLoadData of " + units.Bytes(int64(len(image)))
	if err := d.usable(call); err != nil {
		return nil, err
	}
	if len(image) == 0 {
		return nil, misuse(d.description.Ordinal, call, "the image is empty")
	}
	module, err := cu.LoadData(string(image)) // copies it and appends a zero, which ends PTX
	if e := d.check(call, err); e != nil {
		return nil, e
	}
	m := &Module{module: module}
	d.adopt(&m.handle, moduleKind)
	return m, nil
}

// Function finds a kernel. It loads its code onto the device, which the driver would
// otherwise do at the first launch. The function needs no Close; it ends with the module.
func (m *Module) Function(name string) (*Function, error) {
	call := "cuModuleGetFunction of " + name
	if err := m.usable(call); err != nil {
		return nil, err
	}
	function, err := m.module.Function(name)
	if e := m.device.check(call, err); e != nil {
		return nil, e
	}
	f := &Function{name: name, module: m, function: functionHandle(function)}
	for _, a := range []struct {
		attribute cu.FunctionAttribute
		value     *int
	}{
		{cu.NumRegs, &f.attributes.Registers},
		{cu.LocalSizeBytes, &f.attributes.Local},
		{cu.SharedSizeBytes, &f.attributes.Shared},
		{cu.FnMaxThreadsPerBlock, &f.attributes.MaxThreads},
		{cu.BinaryVersion, &f.attributes.Architecture},
	} {
		*a.value, err = function.Attribute(a.attribute)
		if e := m.device.check(fmt.Sprintf("cuFuncGetAttribute %d of %s", a.attribute, name), err); e != nil {
			return nil, e
		}
	}
	if f.attributes.Parameters, err = f.parameters(); err != nil {
		return nil, err
	}
	return f, nil
}

// Close unloads the module. Its functions are closed with it; graphs that have them must
// be closed before.
func (m *Module) Close() error {
	if m == nil {
		return nil
	}
	return m.release("cuModuleUnload", m.module.Unload)
}
