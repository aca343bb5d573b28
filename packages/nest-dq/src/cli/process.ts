import { readFileSync } from 'node:fs';

/** A line for people, on standard error. */
export function tell(message: string): void {
  process.stderr.write(`nest-dq: ${message}\n`);
}

/** Of the installed package. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
