/** The studio in a real browser, against a real server: everything that people do with it. */
import "./acting.ts"
import "./authoring.ts"
import "./finding.ts"
import "./inspecting.ts"
import "./looking.ts"
import "./operating.ts"
import "./reconnecting.ts"
