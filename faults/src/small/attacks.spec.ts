import { describe } from '@jest/globals';
import { ATTACKS } from '../suites.js';
import { eachPasses } from './command.js';

describe('sealed jobs withstand the attack', () => eachPasses(ATTACKS.all, '--attacks'));
