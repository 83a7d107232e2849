import { signalTest } from "../fleet/signal-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

signalTest(newAddress)
