package main

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/configs"
)

// single checks a file that starts one server without a cluster.
func (d *deployment) single(t *testing.T, where, text string, m image, files map[string]string) {
	its := &deployment{}
	if path.Base(where) == "compose.yaml" {
		its.compose(where, text, m, files)
	} else {
		its.kubernetes(map[string]string{where: text}, m)
	}
	if len(its.containers) != 1 {
		its.fail(where, "it has %d containers", len(its.containers))
	}
	for _, c := range its.containers {
		cfg, err := its.load(t, c)
		if err != nil {
			its.fail(c.name, "%v", err)
			continue
		}
		if cfg.Cluster.On() {
			its.fail(c.name, "it is part of a cluster")
		}
		for _, p := range c.ports {
			if p != cfg.HTTP.Port {
				its.fail(c.name, "port %d is not one on which it listens", p)
			}
		}
		its.ends(c.name, c.grace, c.before, cfg)
		its.probes(t, c, cfg)
		for secret, keys := range c.secrets {
			command := regexp.MustCompile(`(?m)^#   kubectl create secret generic ` + secret + ` (.*)$`).FindString(text)
			for _, key := range keys {
				if !strings.Contains(command, "--from-literal="+key+"=") {
					its.fail("secret "+secret, "no command makes its key %s", key)
				}
			}
		}
	}
	d.errs = append(d.errs, its.errs...)
}

// ends checks that a server has the time that it needs to finish its requests.
func (d *deployment) ends(where string, grace, before time.Duration, cfg *configs.Config) {
	if open := 12 * time.Second; grace < before+cfg.DrainTimeout+open {
		d.fail(where, "it is killed after %v, but takes %v, drain-timeout (%v) and up to %v to end", grace, before, cfg.DrainTimeout, open)
	}
}

// unit checks the unit for systemd, alone or with an addition, whose values count.
func (d *deployment) unit(t *testing.T, where, text string) {
	values := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^(\w+)=(.*)$`).FindAllStringSubmatch(text, -1) {
		values[line[1]] = line[2]
	}
	c := &container{name: where, command: strings.Fields(values["ExecStart"]), env: map[string]string{},
		files: map[string]string{"/etc/troupe/troupe.yaml": "port: 30000\n"}}
	for _, v := range regexp.MustCompile(`(?m)^Environment=(\w+)=(.*)$`).FindAllStringSubmatch(text, -1) {
		c.env[v[1]] = v[2]
	}
	cfg, err := d.load(t, c)
	if err != nil || cfg == nil {
		d.fail(where, "%v", err)
		return
	}
	seconds, err := strconv.Atoi(values["TimeoutStopSec"])
	if err != nil {
		d.fail(where, "TimeoutStopSec: %v", err)
	}
	d.ends(where, time.Duration(seconds)*time.Second, 0, cfg)
	for _, needed := range []string{"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "StateDirectory=troupe"} {
		if !strings.Contains(text, "\n"+needed+"\n") {
			d.fail(where, "%s is missing", needed)
		}
	}
}
