import { join, resolve } from 'node:path';
import type { DqOptions } from 'nest-dq';

/** What an operator can set; nothing else reads the environment. Times are in milliseconds. */
export class Settings {
  readonly port: number;
  /** Where orders, users and resources are kept, and the jobs if there are no servers for them. An absolute path. */
  readonly folder: string;
  /** Where jobs are kept: on servers, or in a folder of this machine. */
  readonly jobs: Pick<DqOptions, 'beanstalks' | 'redis'> | { readonly embedded: { readonly dir: string } };
  /** How long an order waits for its payment. */
  readonly payWithin: number;
  /** From a registration to its welcome mail. */
  readonly welcomeAfter: number;
  /** How long a day lasts. A real service has 24 hours; here a month goes by in half a minute. */
  readonly day: number;

  /** Throws a sentence that names the variable. */
  constructor(env: NodeJS.ProcessEnv) {
    this.port = port(env.PORT);
    this.folder = resolve(env.DATA_DIR || 'data');
    this.jobs = jobs(this.folder, env.DQ_BEANSTALKS, env.DQ_REDIS);
    this.payWithin = seconds('PAY_SECONDS', env.PAY_SECONDS, 15);
    this.welcomeAfter = seconds('WELCOME_SECONDS', env.WELCOME_SECONDS, 3);
    this.day = seconds('DAY_SECONDS', env.DAY_SECONDS, 1);
  }
}

function jobs(folder: string, beanstalks = '', redis = ''): Settings['jobs'] {
  if (beanstalks === '' && redis === '') return { embedded: { dir: join(folder, 'jobs') } };
  if (beanstalks !== '' && redis !== '') {
    return { beanstalks: beanstalks.split(',').map((endpoint) => endpoint.trim()), redis };
  }
  const [given, missing] = redis === '' ? ['DQ_BEANSTALKS', 'DQ_REDIS'] : ['DQ_REDIS', 'DQ_BEANSTALKS'];
  throw new Error(
    `${given} is set without ${missing}: set both (DQ_BEANSTALKS=host:port,host:port DQ_REDIS=redis://host), ` +
      'or neither to keep jobs in a folder',
  );
}

function port(text = '3000'): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`PORT is ${JSON.stringify(text)}: expected a whole number from 0 (any free port) to 65535`);
}

function seconds(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined || text === '' ? otherwise : Number(text);
  if (value > 0 && value <= 1e6) return Math.ceil(value * 1_000);
  throw new Error(`${name} is ${JSON.stringify(text)}: expected seconds, more than 0 and up to 1000000`);
}
