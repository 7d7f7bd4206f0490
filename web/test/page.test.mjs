// The live page in a real browser, on a real host, with a real kernel and agents beside it, part by part.

import './page/running.mjs'
import './page/together.mjs'
import './page/breaks.mjs'
import './page/review.mjs'
import './page/keys.mjs'
import './page/outputs.mjs'
import './page/safety.mjs'
import './page/large.mjs'
import './page/looks.mjs'
