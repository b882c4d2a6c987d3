// Package deploycheck checks the files in deploy/ with types and tools of their makers. It is
// a module of its own, so that the types of Kubernetes are no dependency of the server.
package deploycheck

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// Every field of the manifests is one of Kubernetes, with a value of its type.
func TestKubernetes(t *testing.T) {
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../../deploy/single/kubernetes.yaml")
	checked := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		for buffer := make([]byte, 1<<20); ; {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := object(buffer[:n]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			checked++
		}
	}
	if checked < 8 {
		t.Errorf("only %d objects were found", checked)
	}
	for _, wrong := range []string{
		"apiVersion: v1\nkind: Service\nspec: {ports: [{port: eighty}]}\n",
		"apiVersion: v1\nkind: Service\nspec: {portz: []}\n",
		"apiVersion: apps/v1\nkind: Service\n",
	} {
		if object([]byte(wrong)) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

func object(text []byte) error {
	var head struct{ APIVersion, Kind string }
	if err := strict.Unmarshal(text, &head); err != nil {
		return err
	}
	kinds := map[string]any{
		"v1 Service": &corev1.Service{}, "v1 ConfigMap": &corev1.ConfigMap{}, "v1 PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		"apps/v1 Deployment": &appsv1.Deployment{}, "apps/v1 StatefulSet": &appsv1.StatefulSet{},
		"policy/v1 PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
	}
	into, ok := kinds[head.APIVersion+" "+head.Kind]
	if !ok {
		return errors.New(head.APIVersion + " " + head.Kind + " is not known here; add its type")
	}
	return strict.UnmarshalStrict(text, into)
}

// need skips a test without a tool, unless TROUPE_TOOLS makes that a failure.
func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err == nil {
		return
	}
	if os.Getenv("TROUPE_TOOLS") != "" {
		t.Fatalf("%s is not installed", tool)
	}
	t.Skipf("%s is not installed; TROUPE_TOOLS=1 makes this a failure", tool)
}

// systemd accepts the unit, with the addition for GPUs and without, and rates what it may do.
func TestSystemd(t *testing.T) {
	need(t, "systemd-analyze")
	for _, c := range []struct{ name, addition string }{{"CPU", ""}, {"GPU", "../../deploy/systemd/troupe-cuda.conf"}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			unit := filepath.Join(dir, "troupe.service")
			install(t, "../../deploy/systemd/troupe.service", unit)
			if c.addition != "" {
				install(t, c.addition, filepath.Join(dir, "troupe.service.d", "cuda.conf"))
			}
			said, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput()
			for line := range strings.Lines(string(said)) {
				if strings.Contains(line, "troupe.service") {
					t.Errorf("systemd-analyze verify: %s", line)
				}
			}
			if err != nil {
				t.Errorf("systemd-analyze verify: %v: %s", err, said)
			}
			said, err = exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", unit).CombinedOutput()
			level := regexp.MustCompile(`Overall exposure level for troupe.service: ([\d.]+)`).FindSubmatch(said)
			if level == nil {
				t.Fatalf("systemd-analyze security: %v: %s", err, said)
			}
			if exposure, err := strconv.ParseFloat(string(level[1]), 64); err != nil || exposure > 2 {
				t.Errorf("the exposure is %s; it must be at most 2.0", level[1])
			}
		})
	}
}

// install copies a unit with a program that is there, as verify wants it.
func install(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile(`/usr/local/bin/troupe(-cuda)?\b`)
	if err := os.WriteFile(to, program.ReplaceAll(text, []byte("/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Docker reads the compose files. This needs its client only.
func TestCompose(t *testing.T) {
	if exec.Command("docker", "compose", "version").Run() != nil {
		t.Skip("docker compose is not installed")
	}
	for _, name := range []string{"../../deploy/compose.yaml", "../../deploy/single/compose.yaml"} {
		if said, err := exec.Command("docker", "compose", "-f", name, "config", "--quiet").CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}
