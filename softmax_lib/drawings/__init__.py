"""Pictures of what emulated kernels did, drawn as SVG: listings, margins, requests, timelines, steppers."""
