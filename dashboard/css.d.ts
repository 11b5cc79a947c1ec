/** Style sheets are imported for their side effect only; the build removes them from the scripts. */
declare module "*.css";
