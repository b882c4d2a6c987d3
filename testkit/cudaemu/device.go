package cudaemu

import (
	"fmt"
	"os"
	"strconv"
)

// DeviceVariable names a GPU for tests that otherwise run on the emulation.
const DeviceVariable = "TROUPE_CUDA_DEVICE"

// RealDevice reports whether DeviceVariable names a device of a driver. Nothing is compiled
// then.
func RealDevice() bool { return os.Getenv(DeviceVariable) != "" }

// Device is the device that tests run on: the file of a driver ("": the system's), and the
// ordinal of a device. Without DeviceVariable it is that of the emulation, which Build makes
// from the kernels. With it, it is that device of the driver in TROUPE_CUDA_LIBRARY, or of
// the system's.
func Device(kernels string) (library string, ordinal int, err error) {
	if !RealDevice() {
		library, err = Build(kernels, Options{})
		return library, 0, err
	}
	ordinal, err = strconv.Atoi(os.Getenv(DeviceVariable))
	if err != nil || ordinal < 0 {
		return "", 0, fmt.Errorf("%s is %q; it must be the number of a device, counted from 0", DeviceVariable, os.Getenv(DeviceVariable))
	}
	return os.Getenv("TROUPE_CUDA_LIBRARY"), ordinal, nil
}
