package chat

import (
	"context"
	"sync"
)

// toJSON writes a value as templates do.
var toJSON = sync.OnceValue(func() *Template {
	t, err := Parse("", "{{ messages | tojson }}")
	if err != nil {
		panic(err)
	}
	return t
})

// JSON writes a value as the filter tojson does. The error is one of Render, as of a text that
// is too long.
func JSON(value any) (string, error) {
	return toJSON().Render(context.Background(), Input{Messages: value})
}
