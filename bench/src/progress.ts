/** Tells on stderr what is measured now, as a whole run takes 25 minutes and more. */
export function tell(what: string): void {
  process.stderr.write(`${new Date().toTimeString().slice(0, 8)} ${what}\n`);
}
