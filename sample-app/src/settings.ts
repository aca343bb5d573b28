import type { DqOptions } from 'nest-dq';

/** What an operator can set; nothing else reads the environment. Times are in milliseconds. */
export class Settings {
  readonly port: number;
  /** Where jobs are kept. Empty: in the memory of this process. */
  readonly servers: Pick<DqOptions, 'beanstalks' | 'redis'>;
  /** How long an order waits for its payment. */
  readonly payWithin: number;
  /** From a registration to its welcome mail. */
  readonly welcomeAfter: number;
  /** How long a day lasts. A real service has 24 hours; here a month goes by in half a minute. */
  readonly day: number;

  /** Throws a sentence that names the variable. */
  constructor(env: NodeJS.ProcessEnv) {
    this.port = port(env.PORT);
    this.servers = servers(env.DQ_BEANSTALKS, env.DQ_REDIS);
    this.payWithin = seconds('PAY_SECONDS', env.PAY_SECONDS, 15);
    this.welcomeAfter = seconds('WELCOME_SECONDS', env.WELCOME_SECONDS, 3);
    this.day = seconds('DAY_SECONDS', env.DAY_SECONDS, 1);
  }
}

function servers(beanstalks = '', redis = ''): Settings['servers'] {
  if (beanstalks === '' && redis === '') return {};
  if (beanstalks !== '' && redis !== '') {
    return { beanstalks: beanstalks.split(',').map((endpoint) => endpoint.trim()), redis };
  }
  const [given, missing] = redis === '' ? ['DQ_BEANSTALKS', 'DQ_REDIS'] : ['DQ_REDIS', 'DQ_BEANSTALKS'];
  throw new Error(
    `${given} is set without ${missing}: set both (DQ_BEANSTALKS=host:port,host:port DQ_REDIS=redis://host), ` +
      'or neither to keep jobs in the memory of this process',
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
