package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// container is a process that a file in deploy/ describes.
type container struct {
	name    string
	command []string // with the binary
	env     map[string]string
	files   map[string]string // config files: path and text
	folders map[string]string // that hold certificates: path and secret, "" for a volume
	secrets map[string][]string
	ports   map[string]int
	probes  []probe
	hosts   []string // names at which other containers find it, by DNS
	grace   time.Duration
	before  time.Duration // what of it passes before SIGTERM
}

// probe is a check by HTTP, or with a command.
type probe struct {
	path, port string
	command    []string
}

// deployment is what deploy/ has.
type deployment struct {
	containers []*container
	errs       []error
}

func (d *deployment) fail(where, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf(where+": "+format, args...))
}

// image is the last stage of the Dockerfile.
type image struct {
	entrypoint, cmd []string
	env             map[string]string
	probes          []probe
}

var publicName = regexp.MustCompile(`^[a-z0-9]+(:[a-z0-9.-]+)?$`)

func (d *deployment) dockerfile(where, text string) (m image) {
	stages := map[string]bool{"scratch": true}
	user := ""
	for line := range strings.Lines(regexp.MustCompile(`\\\n`).ReplaceAllString(text, " ")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "FROM":
			fields := slices.DeleteFunc(strings.Fields(rest), func(s string) bool { return strings.HasPrefix(s, "--") })
			if !stages[fields[0]] && !publicName.MatchString(fields[0]) {
				d.fail(where, "image %s is not a public one with a short name", fields[0])
			}
			if len(fields) == 3 {
				stages[fields[2]] = true
			}
			m, user = image{env: map[string]string{}}, ""
		case "USER":
			user = rest
		case "ENV":
			key, value, _ := strings.Cut(rest, "=")
			m.env[key] = value
		case "ENTRYPOINT":
			d.list(where, rest, &m.entrypoint)
		case "CMD":
			d.list(where, rest, &m.cmd)
		case "HEALTHCHECK":
			_, rest, _ = strings.Cut(rest, "CMD ")
			var p probe
			d.list(where, rest, &p.command)
			m.probes = append(m.probes, p)
		}
	}
	if !regexp.MustCompile(`^[1-9][0-9]+(:[0-9]+)?$`).MatchString(user) {
		d.fail(where, "user %q is not a number above 0", user)
	}
	return m
}

func (d *deployment) list(where, text string, to *[]string) {
	if err := json.Unmarshal([]byte(text), to); err != nil {
		d.fail(where, "%s: %v", text, err)
	}
}

// container returns one that runs the image.
func (m image) container(name string, args []string, env map[string]string) *container {
	c := &container{name: name, command: append(slices.Clone(m.entrypoint), args...), env: map[string]string{},
		files: map[string]string{}, folders: map[string]string{}, secrets: map[string][]string{}, ports: map[string]int{}}
	for _, from := range []map[string]string{m.env, env} {
		for key, value := range from {
			c.env[key] = value
		}
	}
	return c
}

type composeFile struct {
	Services map[string]struct {
		Command     []string
		Environment map[string]*string
		Hostname    string
		Ports       []string
		Volumes     []string
		Grace       string `yaml:"stop_grace_period"`
		Healthcheck struct {
			Test    []string
			Disable bool
		}
		Configs  []struct{ Source, Target string }
		Networks map[string]struct{ Aliases []string }
	}
	Configs map[string]struct{ File string }
	Volumes map[string]any
}

func (d *deployment) compose(where, text string, m image, files map[string]string) {
	var f composeFile
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		d.fail(where, "%v", err)
	}
	for name, s := range f.Services {
		env := map[string]string{}
		for key, value := range s.Environment {
			env[key] = "of-" + key // passed on
			if value != nil {
				env[key] = *value
			}
		}
		c := m.container(where+": "+name, s.Command, env)
		c.hosts = []string{name, s.Hostname}
		for _, n := range s.Networks {
			c.hosts = append(c.hosts, n.Aliases...)
		}
		for i, p := range s.Ports {
			c.ports["port"+strconv.Itoa(i)], _ = strconv.Atoi(p[strings.LastIndex(p, ":")+1:])
		}
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(v, ":")
			to, _, _ = strings.Cut(to, ":")
			if _, ok := f.Volumes[from]; !ok && !strings.HasPrefix(from, "./") {
				d.fail(c.name, "volume %s is not declared", from)
			}
			c.folders[to] = ""
		}
		for _, one := range s.Configs {
			file, ok := files[path.Join(path.Dir(where), f.Configs[one.Source].File)]
			if !ok {
				d.fail(c.name, "config %s is not a file", one.Source)
			}
			c.files[one.Target] = file
		}
		if test := s.Healthcheck.Test; len(test) > 0 && test[0] == "CMD" {
			c.probes = append(c.probes, probe{command: test[1:]})
		} else if !s.Healthcheck.Disable {
			d.fail(c.name, "it has no health check")
		}
		c.grace, _ = time.ParseDuration(s.Grace)
		d.containers = append(d.containers, c)
	}
}

type kubeProbe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type kubeObject struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		ClusterIP    string `yaml:"clusterIP"`
		NotReady     bool   `yaml:"publishNotReadyAddresses"`
		ServiceName  string `yaml:"serviceName"`
		MinAvailable int    `yaml:"minAvailable"`
		Replicas     int
		Selector     map[string]any
		Ports        []struct {
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]any }
			Spec     struct {
				Links      *bool `yaml:"enableServiceLinks"`
				Grace      int   `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args []string
					Env  []struct {
						Name, Value string
						From        struct {
							Field struct {
								FieldPath string `yaml:"fieldPath"`
							} `yaml:"fieldRef"`
							Secret struct{ Name, Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
					Startup   kubeProbe `yaml:"startupProbe"`
					Liveness  kubeProbe `yaml:"livenessProbe"`
					Readiness kubeProbe `yaml:"readinessProbe"`
					Lifecycle struct {
						PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
					}
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
					Secret    struct {
						Name string `yaml:"secretName"`
					}
				}
			}
		}
	}
}

func (d *deployment) kubernetes(texts map[string]string, m image) {
	var all []kubeObject
	for where, text := range texts {
		for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
			var o kubeObject
			err := decoder.Decode(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				d.fail(where, "%v", err)
				break
			}
			all = append(all, o)
		}
	}
	maps := map[string]map[string]string{}
	for _, o := range all {
		if o.Kind == "ConfigMap" {
			maps[o.Metadata.Name] = o.Data
		}
	}
	for _, o := range all {
		switch o.Kind {
		case "Deployment", "StatefulSet":
			d.pods(o, all, maps, m)
		case "ConfigMap", "PersistentVolumeClaim":
		case "Service", "PodDisruptionBudget":
			if !slices.ContainsFunc(all, func(w kubeObject) bool { return matches(o.selector(), w.Spec.Template.Metadata.Labels) }) {
				d.fail(o.Kind+" "+o.Metadata.Name, "it selects no pods")
			}
		default:
			d.fail(o.Metadata.Name, "kind %q is not checked", o.Kind)
		}
	}
}

func (o *kubeObject) selector() map[string]any {
	if labels, ok := o.Spec.Selector["matchLabels"].(map[string]any); ok {
		return labels
	}
	return o.Spec.Selector
}

func matches(selector, labels map[string]any) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// pods adds the container of a workload.
func (d *deployment) pods(o kubeObject, all []kubeObject, maps map[string]map[string]string, m image) {
	pod := o.Spec.Template.Spec
	name := o.Kind + " " + o.Metadata.Name
	if pod.Links == nil || *pod.Links {
		d.fail(name, "enableServiceLinks is not false, so a Service called troupe sets TROUPE_PORT")
	}
	if len(pod.Containers) != 1 || !matches(o.selector(), o.Spec.Template.Metadata.Labels) {
		d.fail(name, "it has %d containers, or its selector does not fit its pods", len(pod.Containers))
		return
	}
	k := pod.Containers[0]
	c := m.container(name, k.Args, nil)
	c.grace, c.before = time.Duration(pod.Grace)*time.Second, time.Duration(k.Lifecycle.PreStop.Sleep.Seconds)*time.Second
	fields := map[string]string{"status.podIP": "10.1.2.3", "metadata.name": "troupe-engines-0"}
	for _, e := range k.Env {
		switch value := e.Value; {
		case e.From.Secret.Name != "":
			c.secrets[e.From.Secret.Name] = append(c.secrets[e.From.Secret.Name], e.From.Secret.Key)
			c.env[e.Name] = "a-" + e.From.Secret.Key
		case e.From.Field.FieldPath != "":
			c.env[e.Name] = fields[e.From.Field.FieldPath]
		default: // $(NAME) is a variable before it
			c.env[e.Name] = regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(value, func(ref string) string { return c.env[ref[2:len(ref)-1]] })
		}
	}
	for _, p := range k.Ports {
		c.ports[p.Name] = p.ContainerPort
	}
	for _, p := range []kubeProbe{k.Startup, k.Liveness, k.Readiness} {
		c.probes = append(c.probes, probe{path: p.HTTPGet.Path, port: p.HTTPGet.Port})
	}
	for _, mount := range k.VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name != mount.Name {
				continue
			}
			for file, text := range maps[v.ConfigMap.Name] {
				c.files[path.Join(mount.MountPath, file)] = text
			}
			if v.Secret.Name != "" {
				c.folders[mount.MountPath] = v.Secret.Name
			}
		}
	}
	for _, s := range all {
		if s.Kind != "Service" || !matches(s.selector(), o.Spec.Template.Metadata.Labels) {
			continue
		}
		if c.ports[s.Spec.Ports[0].TargetPort] == 0 {
			d.fail("Service "+s.Metadata.Name, "%s has no port %s", name, s.Spec.Ports[0].TargetPort)
		}
		if s.Spec.ClusterIP == "None" && s.Spec.NotReady {
			c.hosts = append(c.hosts, s.Metadata.Name)
		}
	}
	if o.Kind == "StatefulSet" && !slices.Contains(c.hosts, o.Spec.ServiceName) {
		d.fail(name, "Service %s is not headless", o.Spec.ServiceName)
	}
	d.containers = append(d.containers, c)
}
