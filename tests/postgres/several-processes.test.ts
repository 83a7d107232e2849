import { severalProcessesTests } from "../crash/several-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

severalProcessesTests(newAddress)
