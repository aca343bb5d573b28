import { describe } from '@jest/globals';
import { ATTACKS } from '../suites.js';
import { eachPasses, named } from './command.js';

/** The others do the same by masses or on all nodes at once, or have a spec of their own. */
const NAMES = ['forge', 'alter', 'replay', 'cross', 'siblings', 'stall', 'wire', 'redis'];
const experiments = named(ATTACKS.all, NAMES);

describe('sealed jobs withstand the attack', () => eachPasses(experiments, '--attacks'));
