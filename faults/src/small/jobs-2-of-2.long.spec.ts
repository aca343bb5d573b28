import { eachHalfPasses } from './jobs.js';

eachHalfPasses(2);
