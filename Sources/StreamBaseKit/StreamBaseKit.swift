// The StreamBaseKit layer: streams and resources over the API band. Nothing of it is built yet.
