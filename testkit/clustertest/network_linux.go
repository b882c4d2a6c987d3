package clustertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inNamespace marks a test process that has a network namespace of its own.
const inNamespace = "TEST_HAS_A_NETWORK_NAMESPACE"

// Network is a bridge in a network namespace of this test process. Every node gets a
// namespace of its own beside it, whose link can be cut without a reset.
type Network struct {
	Address string // of the bridge: where the test and its proxies are
	places  int
}

// Place is the network namespace of a node.
type Place struct {
	Address string
	fd      int    // of the namespace
	port    string // the interface on the bridge
}

// Isolated runs a test again in a process with a network namespace of its own and returns
// nil in the outer process: the test then returns. In the inner process it returns the
// network. It skips the test if the system does not allow namespaces.
func Isolated(t *testing.T) *Network {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		return newNetwork(t)
	}
	if err := canIsolate(); err != nil {
		t.Skipf("links cannot be cut without a reset here: %v", err)
	}
	deadline := "0"
	if at, ok := t.Deadline(); ok {
		deadline = time.Until(at).String()
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout="+deadline)
	cmd.Env = append(os.Environ(), inNamespace+"=1", BinaryVariable+"="+Binary(t))
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, namespaceAttributes()
	if err := cmd.Run(); err != nil {
		t.Fatalf("in a network namespace: %v", err)
	}
	return nil
}

// namespaceAttributes give a process a new network namespace, and if need be a user
// namespace in which it may use it.
func namespaceAttributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// canIsolate tries everything that a Network needs.
func canIsolate() error {
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("the program ip is missing (Debian: iproute2)")
	}
	cmd := exec.Command("sh", "-ec", "ip link add name b0 type bridge; ip link add name v0 type veth peer name v1; ip link set v0 master b0")
	cmd.SysProcAttr = namespaceAttributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("no bridge in a network namespace: %v: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

func newNetwork(t testing.TB) *Network {
	t.Helper()
	n := &Network{Address: "10.211.0.1"}
	ip(t, nil, "link set lo up")
	// Without an address of its own the bridge takes that of a port, and its neighbours look
	// for the old one for seconds when the port is cut off.
	ip(t, nil, "link add name nodes address 02:00:00:00:00:01 type bridge")
	ip(t, nil, "addr add "+n.Address+"/24 dev nodes")
	ip(t, nil, "link set nodes up")
	return n
}

// ip runs the program ip in a namespace.
func ip(t testing.TB, p *Place, arguments string) {
	t.Helper()
	if err := ipIn(p, arguments); err != nil {
		t.Fatal(err)
	}
}

func ipIn(p *Place, arguments string) error {
	var out []byte
	err := p.run(func() (err error) {
		out, err = exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
		return err
	})
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", arguments, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// place makes the namespace of a node.
func (n *Network) place(t testing.TB, name string) *Place {
	t.Helper()
	n.places++
	p := &Place{Address: fmt.Sprintf("10.211.0.%d", 10+n.places), port: fmt.Sprintf("port%d", n.places)}
	var err error
	if p.fd, err = newNamespace(); err != nil {
		t.Fatalf("a network namespace for %s: %v", name, err)
	}
	t.Cleanup(func() { unix.Close(p.fd) })
	ip(t, nil, "link add name "+p.port+" type veth peer name inner")
	ip(t, nil, fmt.Sprintf("link set inner netns /proc/%d/fd/%d", os.Getpid(), p.fd))
	ip(t, nil, "link set "+p.port+" master nodes up")
	ip(t, p, "link set lo up")
	ip(t, p, "addr add "+p.Address+"/24 dev inner")
	ip(t, p, "link set inner up")
	return p
}

// newNamespace makes a network namespace and returns its file descriptor.
func newNamespace() (fd int, err error) {
	runtime.LockOSThread()
	outer, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(outer)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return 0, err
	}
	fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return fd, errors.Join(err, leave(outer))
}

// leave takes this thread back to its namespace. If that fails the thread is not used again.
func leave(outer int) error {
	if err := unix.Setns(outer, unix.CLONE_NEWNET); err != nil {
		return err
	}
	runtime.UnlockOSThread()
	return nil
}

// run calls f on a thread in the namespace: processes that it starts are in it.
func (p *Place) run(f func() error) error {
	if p == nil {
		return f()
	}
	runtime.LockOSThread()
	outer, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(outer)
	if err := unix.Setns(p.fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	return errors.Join(f(), leave(outer))
}

// Cut loses everything that goes to the node or comes from it: no end gets a reset.
func (p *Place) Cut() error { return ipIn(nil, "link set "+p.port+" nomaster") }

// Mend ends it.
func (p *Place) Mend() error { return ipIn(nil, "link set "+p.port+" master nodes") }
