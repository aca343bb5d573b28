import { describe } from '@jest/globals';
import { STREAMS } from '../suites.js';
import { eachPasses, named } from './command.js';

/** The others do what specs in test/failure do. */
const NAMES = ['consumers-killed', 'consumer-frozen', 'dq-redis-away', 'poison-default'];
const experiments = named(STREAMS.all, NAMES);

describe('the experiment with 1,000 messages passes:', () => eachPasses(experiments, '--kafka'));
