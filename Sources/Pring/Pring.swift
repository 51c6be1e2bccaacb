// The Pring layer: object schemas over the API band. Nothing of it is built yet.
