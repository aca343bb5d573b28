import { pickup } from './pickup.js';

/** Each bench starts its own servers, prints its table, and ends. */
const BENCHES: Readonly<Record<string, (json: boolean) => Promise<void>>> = { pickup };

const USAGE = `npm run bench [-- NAME…] [-- --json]

  pickup   time from an add to the start of its handler, with 46 of 50 slots taken by long handlers
`;

const args = process.argv.slice(2);
const json = args.includes('--json');
const names = args.filter((arg) => arg !== '--json');
const unknown = names.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  process.stderr.write(`There is no bench ${unknown.join(', ')}.\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  for (const name of names.length > 0 ? names : Object.keys(BENCHES)) await BENCHES[name]!(json);
}
