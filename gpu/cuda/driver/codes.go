//go:build cuda && cgo && linux && amd64

package driver

// #include "library.h"
import "C"

// meaning is what this package knows about a result of the driver.
type meaning struct {
	name   string
	sticky bool // the context is gone: NVIDIA's documentation says to start the process anew
	reason error
	remedy string
	early  string // remedy of a call before there is a context, if it is another
}

const (
	updateDriver = "install NVIDIA's driver 525 (CUDA 12.0) or newer"
	ownFault     = "this is a fault of Troupe or of its kernels, or defective hardware: please report it with the log"
	hardware     = "look for Xid in the kernel's log (dmesg), and reset the device (nvidia-smi --gpu-reset) or replace it"
	damaged      = "the program is damaged: install it again"
	mpsService   = "look at the log of the MPS service (nvidia-cuda-mps-control), or stop it"
	reload       = "restart the machine, or load the module again (modprobe -r nvidia_uvm; modprobe nvidia_uvm); dmesg has the cause"
	ownBug       = "this is a fault of Troupe: please report it"
	seeDevices   = "`troupe inspect devices` lists the GPUs. CUDA_VISIBLE_DEVICES can hide some"
	unexplained  = "this is a fault of Troupe or of the driver: please report it with the log"
)

var meanings = map[int]meaning{
	C.CUDA_ERROR_INVALID_VALUE:   {name: "CUDA_ERROR_INVALID_VALUE", remedy: unexplained},
	C.CUDA_ERROR_OUT_OF_MEMORY:   {name: "CUDA_ERROR_OUT_OF_MEMORY", reason: ErrMemory, remedy: "free memory (nvidia-smi lists who uses the device's), or use a smaller model, context or pool"},
	C.CUDA_ERROR_NOT_INITIALIZED: {name: "CUDA_ERROR_NOT_INITIALIZED", remedy: ownBug},
	C.CUDA_ERROR_DEINITIALIZED:   {name: "CUDA_ERROR_DEINITIALIZED", sticky: true, remedy: ownBug},
	C.CUDA_ERROR_STUB_LIBRARY:    {name: "CUDA_ERROR_STUB_LIBRARY", reason: ErrNoDriver, remedy: "take the folder stubs of the CUDA toolkit out of LD_LIBRARY_PATH"},

	// Devices.
	C.CUDA_ERROR_NO_DEVICE:                      {name: "CUDA_ERROR_NO_DEVICE", reason: ErrNoDevice, remedy: "check that nvidia-smi lists a device, that the container was started with it (--gpus all), and CUDA_VISIBLE_DEVICES"},
	C.CUDA_ERROR_INVALID_DEVICE:                 {name: "CUDA_ERROR_INVALID_DEVICE", reason: ErrNoDevice, remedy: seeDevices},
	C.CUDA_ERROR_DEVICE_UNAVAILABLE:             {name: "CUDA_ERROR_DEVICE_UNAVAILABLE", sticky: true, reason: ErrNoDevice, remedy: "another process has the device for itself, or its compute mode prohibits use: end the other process, or allow sharing (nvidia-smi -c DEFAULT)"},
	C.CUDA_ERROR_DEVICE_NOT_LICENSED:            {name: "CUDA_ERROR_DEVICE_NOT_LICENSED", reason: ErrNoDevice, remedy: "ask the administrator of the virtual GPU for a licence"},
	C.CUDA_ERROR_OPERATING_SYSTEM:               {name: "CUDA_ERROR_OPERATING_SYSTEM", reason: ErrNoDevice, remedy: "check that this user may open /dev/nvidia*, and the limits on processes, files and locked memory (ulimit -a)"},
	C.CUDA_ERROR_NOT_PERMITTED:                  {name: "CUDA_ERROR_NOT_PERMITTED", remedy: unexplained},
	C.CUDA_ERROR_NOT_SUPPORTED:                  {name: "CUDA_ERROR_NOT_SUPPORTED", reason: ErrUnsupported, remedy: "use another device, or install a newer driver"},
	C.CUDA_ERROR_SYSTEM_NOT_READY:               {name: "CUDA_ERROR_SYSTEM_NOT_READY", reason: ErrNoDevice, remedy: "start NVIDIA's fabric manager (nvidia-fabricmanager), and wait until it is ready"},
	C.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:         {name: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", reason: ErrOldDriver, remedy: "restart the machine after an update of the driver, and do not bring a libcuda.so.1 into the container: it must have the version of the kernel's module"},
	C.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: {name: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", reason: ErrOldDriver, remedy: "take the package cuda-compat out of LD_LIBRARY_PATH, or " + updateDriver},
	C.CUDA_ERROR_INVALID_CONTEXT:                {name: "CUDA_ERROR_INVALID_CONTEXT", remedy: ownBug},
	C.CUDA_ERROR_CONTEXT_IS_DESTROYED:           {name: "CUDA_ERROR_CONTEXT_IS_DESTROYED", sticky: true, remedy: ownBug},

	// Kernels' code.
	C.CUDA_ERROR_INVALID_IMAGE:            {name: "CUDA_ERROR_INVALID_IMAGE", remedy: damaged},
	C.CUDA_ERROR_INVALID_PTX:              {name: "CUDA_ERROR_INVALID_PTX", remedy: damaged},
	C.CUDA_ERROR_INVALID_SOURCE:           {name: "CUDA_ERROR_INVALID_SOURCE", remedy: damaged},
	C.CUDA_ERROR_NO_BINARY_FOR_GPU:        {name: "CUDA_ERROR_NO_BINARY_FOR_GPU", reason: ErrUnsupported, remedy: "this program has no kernels for the device's architecture: use --device cpu, or a newer troupe-cuda"},
	C.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:  {name: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", reason: ErrOldDriver, remedy: updateDriver},
	C.CUDA_ERROR_JIT_COMPILER_NOT_FOUND:   {name: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", reason: ErrUnsupported, remedy: "install libnvidia-ptxjitcompiler, which belongs to the driver"},
	C.CUDA_ERROR_JIT_COMPILATION_DISABLED: {name: "CUDA_ERROR_JIT_COMPILATION_DISABLED", reason: ErrUnsupported, remedy: "unset CUDA_DISABLE_PTX_JIT"},
	C.CUDA_ERROR_NOT_FOUND:                {name: "CUDA_ERROR_NOT_FOUND", remedy: damaged},

	// Launches.
	C.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: {name: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", remedy: ownFault},
	C.CUDA_ERROR_LAUNCH_TIMEOUT:          {name: "CUDA_ERROR_LAUNCH_TIMEOUT", sticky: true, remedy: "the device serves a display, which bounds how long a launch may take: use another device, or stop the display"},
	C.CUDA_ERROR_ILLEGAL_ADDRESS:         {name: "CUDA_ERROR_ILLEGAL_ADDRESS", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_ASSERT:                  {name: "CUDA_ERROR_ASSERT", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_HARDWARE_STACK_ERROR:    {name: "CUDA_ERROR_HARDWARE_STACK_ERROR", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_ILLEGAL_INSTRUCTION:     {name: "CUDA_ERROR_ILLEGAL_INSTRUCTION", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_MISALIGNED_ADDRESS:      {name: "CUDA_ERROR_MISALIGNED_ADDRESS", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_INVALID_ADDRESS_SPACE:   {name: "CUDA_ERROR_INVALID_ADDRESS_SPACE", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_INVALID_PC:              {name: "CUDA_ERROR_INVALID_PC", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_LAUNCH_FAILED:           {name: "CUDA_ERROR_LAUNCH_FAILED", sticky: true, remedy: ownFault},

	// Hardware, and services between the hardware and the process (NVLink, MPS).
	C.CUDA_ERROR_ECC_UNCORRECTABLE:           {name: "CUDA_ERROR_ECC_UNCORRECTABLE", sticky: true, remedy: hardware},
	C.CUDA_ERROR_NVLINK_UNCORRECTABLE:        {name: "CUDA_ERROR_NVLINK_UNCORRECTABLE", sticky: true, remedy: hardware},
	contained:                                {name: "CUDA_ERROR_CONTAINED", sticky: true, remedy: hardware},
	tensorMemoryLeak:                         {name: "CUDA_ERROR_TENSOR_MEMORY_LEAK", sticky: true, remedy: ownFault},
	C.CUDA_ERROR_EXTERNAL_DEVICE:             {name: "CUDA_ERROR_EXTERNAL_DEVICE", sticky: true, remedy: hardware},
	C.CUDA_ERROR_UNKNOWN:                     {name: "CUDA_ERROR_UNKNOWN", sticky: true, reason: ErrNoDevice, remedy: hardware, early: reload},
	C.CUDA_ERROR_MPS_CONNECTION_FAILED:       {name: "CUDA_ERROR_MPS_CONNECTION_FAILED", sticky: true, reason: ErrNoDevice, remedy: mpsService},
	C.CUDA_ERROR_MPS_RPC_FAILURE:             {name: "CUDA_ERROR_MPS_RPC_FAILURE", sticky: true, reason: ErrNoDevice, remedy: mpsService},
	C.CUDA_ERROR_MPS_SERVER_NOT_READY:        {name: "CUDA_ERROR_MPS_SERVER_NOT_READY", reason: ErrNoDevice, remedy: mpsService},
	C.CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:     {name: "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", reason: ErrNoDevice, remedy: mpsService},
	C.CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: {name: "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", reason: ErrNoDevice, remedy: mpsService},
	C.CUDA_ERROR_MPS_CLIENT_TERMINATED:       {name: "CUDA_ERROR_MPS_CLIENT_TERMINATED", sticky: true, remedy: mpsService},

	// Captures.
	C.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:  {name: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", remedy: ownBug},
	C.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:  {name: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", remedy: ownBug},
	C.CUDA_ERROR_STREAM_CAPTURE_UNJOINED:     {name: "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", remedy: ownBug},
	C.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:     {name: "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", remedy: ownBug},
	C.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: {name: "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", remedy: ownBug},
}

// Results of drivers newer than the API of include/cuda.h.
const (
	contained        = 226
	tensorMemoryLeak = 721
)
