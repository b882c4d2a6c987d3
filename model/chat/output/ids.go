package output

import "fmt"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// New makes the id of a call that the model gave none. random are random bytes of the caller;
// index counts the calls of the conversation, as templates do.
func (s IDShape) New(name string, index int, random [24]byte) string {
	if s == IndexID {
		return fmt.Sprintf("functions.%s:%d", name, index)
	}
	for i, b := range random {
		random[i] = alphabet[int(b)%len(alphabet)]
	}
	if s == NineID {
		return string(random[:9])
	}
	return "call_" + string(random[:])
}
