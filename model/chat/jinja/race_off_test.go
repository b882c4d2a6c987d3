//go:build !race

package jinja

const raced = false
