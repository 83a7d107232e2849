/** Definitions whose author is not trusted: what they may not use. */
export { checkTrust, trustedFunctions } from "./check-trust.ts"
