import { join, resolve } from 'node:path';
import { applyDecorators } from '@nestjs/common';
import { registerAs, type ConfigType } from '@nestjs/config';
import { plainToInstance } from 'class-transformer';
import { IsInt, IsPositive, Max, Min, validateSync } from 'class-validator';

const Seconds = () => applyDecorators(Max(1_000_000), IsPositive());

/** The variables that an operator can set, in the environment or in a file `.env`. */
class Environment {
  /** 0 is any free port. */
  @Min(0)
  @Max(65_535)
  @IsInt()
  readonly PORT: number = 3_000;

  /** Keeps orders, users and resources, and the jobs too if no servers are given. */
  readonly DATA_DIR: string = 'data';

  /** `host:port,host:port`. */
  readonly DQ_BEANSTALKS?: string;

  readonly DQ_REDIS?: string;

  /** `host:port,host:port` of Kafka. Without it messages are in memory, for as long as the application runs. */
  readonly KQ_BROKERS?: string;

  /** How long an order waits for its payment. */
  @Seconds()
  readonly PAY_SECONDS: number = 15;

  /** From a registration to its welcome mail. */
  @Seconds()
  readonly WELCOME_SECONDS: number = 3;

  /** How long a day lasts. A real service has 24 hours; here a month goes by in half a minute. */
  @Seconds()
  readonly DAY_SECONDS: number = 1;
}

/** Times are in milliseconds. Throws a sentence that names the variable. */
export function readSettings(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const checked = plainToInstance(Environment, given, { enableImplicitConversion: true });
  const [fault] = validateSync(checked, { stopAtFirstError: true });
  if (fault) {
    const { property, constraints } = fault;
    throw new Error(`${property} is "${given[property]}": ${Object.values(constraints!).join()}`);
  }
  const folder = resolve(checked.DATA_DIR);
  return {
    port: checked.PORT,
    folder,
    jobs: jobsOn(checked) ?? { embedded: { dir: join(folder, 'jobs') } },
    messages: { group: 'sample-app', brokers: brokersOf(checked) },
    payWithin: Math.ceil(checked.PAY_SECONDS * 1_000),
    welcomeAfter: Math.ceil(checked.WELCOME_SECONDS * 1_000),
    day: Math.ceil(checked.DAY_SECONDS * 1_000),
  };
}

function jobsOn({ DQ_BEANSTALKS, DQ_REDIS }: Environment) {
  if (!DQ_BEANSTALKS && !DQ_REDIS) return undefined;
  if (DQ_BEANSTALKS && DQ_REDIS) {
    return { beanstalks: listOf(DQ_BEANSTALKS), redis: DQ_REDIS };
  }
  const [given, missing] = DQ_REDIS ? ['DQ_REDIS', 'DQ_BEANSTALKS'] : ['DQ_BEANSTALKS', 'DQ_REDIS'];
  throw new Error(
    `${given} is set without ${missing}: set both (DQ_BEANSTALKS=host:port,host:port DQ_REDIS=redis://host), ` +
      'or neither to keep jobs in a folder',
  );
}

function brokersOf({ KQ_BROKERS }: Environment): string[] | 'memory' {
  return KQ_BROKERS ? listOf(KQ_BROKERS) : 'memory';
}

function listOf(endpoints: string): string[] {
  return endpoints.split(',').map((endpoint) => endpoint.trim());
}

/** Inject it by `@Inject(settings.KEY)`. */
export const settings = registerAs('settings', () => readSettings(process.env));
export type Settings = ConfigType<typeof settings>;
