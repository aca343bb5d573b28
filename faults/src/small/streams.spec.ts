import { describe, expect, it } from '@jest/globals';
import { STREAMS } from '../suites.js';
import { eachPasses } from './command.js';

/** The others do what specs in test/failure do. */
const NAMES = ['consumers-killed', 'consumer-frozen', 'dq-redis-away', 'poison-default'];
const experiments = STREAMS.all.filter(({ name }) => NAMES.includes(name));

it('they are there', () => expect(experiments.map(({ name }) => name)).toEqual(NAMES));

describe('the experiment with 1,000 messages passes:', () => eachPasses(experiments, '--kafka'));
