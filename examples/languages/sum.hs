main :: IO ()
main = do
  numbers <- map read . words <$> getLine
  print (sum numbers :: Integer)
