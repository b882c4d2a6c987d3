package httpapi

import (
	"reflect"
	"slices"
)

// misplaced tells of an unknown parameter of /generate that it has a place one
// level deeper, where SGLang has what other APIs have on top. Other errors stay.
func misplaced(err *apiError) *apiError {
	if err == nil || err.Code != codeUnknown {
		return err
	}
	name, deeper := clip(err.Param, 64), fieldNames(reflect.TypeFor[nativeSampling]())
	if _, known := fieldsOf(reflect.TypeFor[refusableSampling]())[err.Param]; known {
		return unsupported(name, "leave it out")
	}
	if slices.Contains(deeper, err.Param) {
		return err.say(`%s is a sampling parameter; put it in sampling_params, as in {"sampling_params": {"%s": …}}`, name, name)
	}
	// A name that is near to one of this level has been suggested that.
	if didYouMean(err.Param, fieldNames(reflect.TypeFor[generateRequest]())) == "" {
		if near := didYouMean(err.Param, deeper); near != "" {
			err.say("%s is not a parameter of this endpoint; put sampling parameters in sampling_params%s", name, own(near))
		}
	}
	return err
}

// misplacedDeep tells of an unknown parameter within sampling_params that it
// belongs beside it.
func misplacedDeep(err *apiError) *apiError {
	if err.Code == codeUnknown && slices.Contains(fieldNames(reflect.TypeFor[generateRequest]()), err.Param) {
		err.say("%s is not a sampling parameter; put it beside sampling_params, not in it", clip(err.Param, 64))
	}
	return err
}
